export {};
//# sourceMappingURL=audit.js.map