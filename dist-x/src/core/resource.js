export const defineResource = (resource) => resource;
//# sourceMappingURL=resource.js.map