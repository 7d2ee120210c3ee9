import { Argument, type Command } from 'commander';

/**
 * One command of the program for the completion scripts. `path` has the words from the program's name to the command,
 * and is empty for the program itself.
 */
interface Place {
  readonly path: string;
  readonly commands: readonly Described[];
  /** The known values of the arguments. */
  readonly values: readonly string[];
  readonly options: readonly (Described & { readonly takesValue: boolean; readonly values: readonly string[] })[];
}

interface Described {
  readonly word: string;
  readonly description: string;
}

const SHELLS = { bash, zsh, fish } as const;
type Shell = keyof typeof SHELLS;

export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<SHELL>', 'shell of the script').choices(Object.keys(SHELLS)))
    .action((shell: Shell) => {
      process.stdout.write(SHELLS[shell](placesOf(program)));
    });
}

function placesOf(command: Command, path = ''): Place[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const place = {
    path,
    commands: subcommands.map((one) => ({ word: one.name(), description: one.description() })),
    values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    options: help
      .visibleOptions(command)
      .flatMap(({ long, description, required, optional, argChoices = [] }) =>
        long == null ? [] : [{ word: long, description, takesValue: required || optional, values: argChoices }],
      ),
  };
  return [place, ...subcommands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const wordsOf = ({ commands, values, options }: Place): string =>
  [...commands.map(({ word }) => word), ...values, ...options.map(({ word }) => word)].join(' ');

/** The `case` patterns that bash and zsh share. Each pattern is a path followed by one more word. */
function patterns(places: readonly Place[]): { paths: string; values: [pattern: string, values: string][] } {
  const paths = places.flatMap(({ path, commands }) => commands.map(({ word }) => quoted(`${path} ${word}`))).join('|');
  const values = places.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ word, values }): [string, string] => [quoted(`${path} ${word}`), values.join(' ')]),
  );
  return { paths, values };
}

/** Gives file names for a value that the program does not know, and for an argument that is a file. */
function bash(places: readonly Place[]): string {
  const { paths, values } = patterns(places);
  return `# bash completion for gateway. Load: eval "$(gateway completion bash)"
_gateway() {
  local path='' word words='' current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${paths}) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$path $before" in
${values.map(([pattern, known]) => `    ${pattern}) words=${quoted(known)} ;;`).join('\n')}
    *)
      case "$path" in
${places.map((place) => `        ${quoted(place.path)}) words=${quoted(wordsOf(place))} ;;`).join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gateway gateway installation-gateway
`;
}

function zsh(places: readonly Place[]): string {
  const { paths, values } = patterns(places);
  return `#compdef gateway installation-gateway
# zsh completion for gateway. Load: eval "$(gateway completion zsh)"
_gateway() {
  local place='' word before="\${words[CURRENT-1]}"
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      ${paths}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place $before" in
${values.map(([pattern, known]) => `    ${pattern}) ${known === '' ? '_files' : `compadd -- ${known}`}; return ;;`).join('\n')}
  esac
  case "$place" in
${places.map((place) => `    ${quoted(place.path)}) compadd -- ${wordsOf(place)} ;;`).join('\n')}
  esac
  [[ "$PREFIX" = -* ]] || _files
}
if [ "$funcstack[1]" = _gateway ]; then _gateway "$@"; else compdef _gateway gateway installation-gateway; fi
`;
}

function fish(places: readonly Place[]): string {
  const all = places.flatMap(({ path, commands }) => commands.map(({ word }) => quoted(`${path} ${word}`)));
  const lines = places.flatMap(({ path, commands, values: known, options }) => {
    const at = `complete -c gateway -n ${quoted(`__gateway_at ${path}`.trim())}`;
    return [
      ...(known.length > 0 ? [`${at} -f -a ${quoted(known.join(' '))}`] : []),
      ...commands.map(({ word, description }) => `${at} -f -a ${word} -d ${quoted(description)}`),
      ...options.map(({ word, description, takesValue, values }) =>
        [
          `${at} -l ${word.slice(2)}`,
          ...(takesValue ? ['-r'] : []),
          ...(values.length > 0 ? ['-f', '-a', quoted(values.join(' '))] : []),
          `-d ${quoted(description)}`,
        ].join(' '),
      ),
    ];
  });
  return `# fish completion for gateway. Load: gateway completion fish | source
function __gateway_at
  set -l place
  for word in (commandline -opc)[2..-1]
    if contains -- "$place $word" ${all.join(' ')}
      set place (string trim -- "$place $word")
    end
  end
  test "$place" = "$argv"
end
${lines.join('\n')}
complete -c installation-gateway -w gateway
`;
}
