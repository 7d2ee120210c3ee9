export {};
//# sourceMappingURL=page.js.map