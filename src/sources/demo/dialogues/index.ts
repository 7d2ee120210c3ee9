import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import type { Dialogues } from './script.ts';
import { tr } from './tr.ts';

/** For each language, the number of conversations on each of the two websites. All numbers add up to 400. */
export const languages: readonly { readonly dialogues: Dialogues; readonly us: number; readonly eu: number }[] = [
  { dialogues: en, us: 118, eu: 22 },
  { dialogues: de, us: 0, eu: 72 },
  { dialogues: fr, us: 10, eu: 28 },
  { dialogues: es, us: 30, eu: 10 },
  { dialogues: it, us: 0, eu: 26 },
  { dialogues: pt, us: 12, eu: 8 },
  { dialogues: nl, us: 0, eu: 20 },
  { dialogues: pl, us: 0, eu: 18 },
  { dialogues: tr, us: 0, eu: 12 },
  { dialogues: ja, us: 14, eu: 0 },
];
