/** Paths of the console have lower-case words and public ids only, so none can lead to another site. */
const PATH = /^\/console(?:\/[a-z0-9_-]+)*$/;
export const isConsolePage = (path) => path.length <= 200 && PATH.test(path);
//# sourceMappingURL=paths.js.map