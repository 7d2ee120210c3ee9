export const detectLanguage = (_text: string): string | null => null;
