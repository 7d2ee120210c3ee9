export const defineSkill = (declaration) => declaration; // the cast is sound, because `run` and `check` receive only values that `input` has accepted
//# sourceMappingURL=skill.js.map