export {};
//# sourceMappingURL=contract.js.map