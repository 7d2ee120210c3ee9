/** One of the operator's keys: its name, which travels with what it made, and 32 bytes. */
export interface Key {
  readonly kid: string;
  readonly secret: Uint8Array;
}

const LIST = /^[\w.-]+:[A-Za-z0-9+/]{43}=(,[\w.-]+:[A-Za-z0-9+/]{43}=)*$/;

/** `kid:BASE64` of 32 bytes, several separated by commas, no name twice; `undefined` for anything else. */
export function parseKeys(text: string): Key[] | undefined {
  if (!LIST.test(text)) return undefined;
  const keys = text.split(',').map((one) => {
    const [kid = '', encoded = ''] = one.split(':');
    return { kid, secret: Buffer.from(encoded, 'base64') };
  });
  return new Set(keys.map(({ kid }) => kid)).size === keys.length ? keys : undefined;
}
