import type { HelpConfiguration, Option } from 'commander';

/**
 * The style of the help. Marks the options that a command requires, and lists the values of an option that has a fixed
 * set of values.
 */
export const helpStyle: HelpConfiguration = {
  optionDescription({ description, argChoices, required, defaultValue, defaultValueDescription, mandatory }: Option) {
    const byDefault = defaultValueDescription ?? (required && defaultValue !== undefined ? String(defaultValue) : '');
    return [
      description,
      ...(argChoices ? [`(one of: ${argChoices.join(', ')})`] : []),
      ...(byDefault === '' ? [] : [`(default: ${byDefault})`]),
      ...(mandatory ? ['(required)'] : []),
    ].join(' ');
  },
};
