import { type Html, html } from '../http/html.ts';
import { nameColumn, numberColumn, table } from './table.ts';

export interface Bar {
  /** When the bar starts, as its row of the table says it. */
  readonly label: string;
  /** The parts of the bar from the bottom up, as many as `parts` has. Null: there is no value at this time. */
  readonly values: readonly (number | null)[];
}

export interface Plot {
  /** Distinct within the page. */
  readonly id: string;
  readonly title: string;
  /** What the plot shows in one sentence, with its largest value. */
  readonly says: string;
  /** What each part of a bar is, with the class that colours it. */
  readonly parts: readonly { readonly name: string; readonly tone: 'calls' | 'failures' | 'time' }[];
  readonly bars: readonly Bar[];
  /** Writes a value of the table. */
  readonly format: (value: number) => string;
  /** Writes a value of the axis, in a few characters. By default as in the table. */
  readonly axis?: (value: number) => string;
  /** The heading of the table's first column. */
  readonly when: string;
}

/** The height of the drawing, and the width of a bar with its gap. The stylesheet stretches the drawing. */
const HEIGHT = 100;
const WIDTH = 10;
const GAP = 1;

/**
 * Bars over time, as SVG without scripts and inline styles. The table below the plot has the same numbers. The labels of
 * the axes are outside the drawing, so that they keep their size on a phone.
 */
export function plot({ id, title, says, parts, bars, format, axis = format, when }: Plot): Html {
  const top = axisTop(Math.max(0, ...bars.map(({ values }) => heightOf(values))));
  const drawn = bars.map(({ label, values }, i) => {
    let below = 0;
    const pieces = values.map((value, part) => {
      if (!value) return undefined;
      // A part that is not 0 stays visible beside a much larger one.
      const height = Math.max((value / top) * HEIGHT, 1);
      below += height;
      const { tone } = parts[part] ?? {};
      return html`<rect class="${tone ?? 'calls'}" x="${i * WIDTH + GAP}" y="${round(HEIGHT - below)}" width="${WIDTH - 2 * GAP}" height="${round(height)}"/>`;
    });
    const told = parts.map(({ name }, part) => `${name} ${shownValue(values[part], format)}`).join(', ');
    return html`<g><title>${label}: ${told}</title><rect class="hit" x="${i * WIDTH}" y="0" width="${WIDTH}" height="${HEIGHT}"/>${pieces}</g>`;
  });
  const width = bars.length * WIDTH;
  return html`
<figure class="plot">
<figcaption><h2 id="${id}">${title}</h2>${
    parts.length < 2
      ? undefined
      : html`<ul class="legend">${parts.map(({ name, tone }) => html`<li class="${tone}">${name}</li>`)}</ul>`
  }</figcaption>
<div class="drawing">
<ol class="scale" aria-hidden="true"><li>${axis(top)}</li><li>${axis(top / 2)}</li><li>0</li></ol>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id} ${id}-says">
<desc id="${id}-says">${says} The table after the plot has all numbers.</desc>
<path class="grid" d="M0 0H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT}H${width}"/>${drawn}
</svg>
<p class="times" aria-hidden="true"><span>${bars[0]?.label ?? ''}</span><span>${bars.at(-1)?.label ?? ''}</span></p>
</div>
<details><summary>${title} as a table</summary>
${table(
  title,
  [nameColumn(when), ...parts.map(({ name }) => numberColumn(name))],
  bars.map(({ label, values }) => [label, ...parts.map((_, part) => shownValue(values[part], format))]),
)}
</details>
</figure>`;
}

const heightOf = (values: readonly (number | null)[]): number => values.reduce<number>((sum, n) => sum + (n ?? 0), 0);

const shownValue = (value: number | null | undefined, format: Plot['format']): string =>
  value === null || value === undefined ? 'none' : format(value);

const round = (n: number): number => Math.round(n * 100) / 100;

/** The end of the axis: 1, 2, 4, 6 or 8 times a power of ten, so that its half is a short number, too. */
export function axisTop(largest: number): number {
  if (!Number.isFinite(largest) || largest <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 4, 6, 8, 10].find((n) => n * power >= largest) ?? 10) * power;
}
