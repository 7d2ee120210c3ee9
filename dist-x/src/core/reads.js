export {};
//# sourceMappingURL=reads.js.map