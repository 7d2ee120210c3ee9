export {};
//# sourceMappingURL=discovery.js.map