export function once(make) {
    let made;
    return () => {
        made ??= { value: make() };
        return made.value;
    };
}
//# sourceMappingURL=once.js.map