import { mkdirSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
/** The value below which `share` of all values lie. */
export function quantile(all, share) {
    const sorted = [...all].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
export const median = (all) => quantile(all, 0.5);
/**
 * Returns one ratio for each round. A ratio does not depend on the speed of the machine, because a slow machine slows
 * both sides.
 */
export const ratios = ({ ours, peer }) => ours.map((rate, i) => rate / (peer[i] ?? rate));
const thousands = (value) => Math.round(value).toLocaleString('en-US');
const day = (date) => date.toISOString().slice(0, 10);
export function tableRows({ compared, machine, date }) {
    const rows = compared.map((one) => {
        const each = ratios(one);
        const range = `(${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)})`;
        const name = one.against === undefined ? one.name : `${one.name} (by hand: ${one.against})`;
        const rates = [one.ours, one.peer].map((all) => `${thousands(median(all))}/s`).join(' | ');
        return `| ${name} | ${rates} | ${median(each).toFixed(2)} ${range} | ${one.p99.join(' ms, ')} ms |`;
    });
    return [
        `${day(date)}, ${machine}`,
        '',
        '| Call | Ours | By hand | Ratio | p99, ours and by hand |',
        '|---|---|---|---|---|',
        ...rows,
    ].join('\n');
}
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const ROW = 34;
const LEFT = 250;
const WIDTH = 900;
const OURS = '#1f6feb';
const PEER = '#8c959f';
function plot(title, all, { at, ticks, label }, row) {
    const bottom = 30 + all.length * ROW;
    const axis = ticks.map((tick) => {
        const x = at(tick).toFixed(1);
        return `<path d="M${x} 30V${bottom}" stroke="#d0d7de"/><text x="${x}" y="${bottom + 18}" text-anchor="middle">${label(tick)}</text>`;
    });
    const rows = all.map((one, i) => `<g transform="translate(0 ${30 + i * ROW})"><text x="${LEFT - 12}" y="${ROW / 2 + 4}" text-anchor="end">${escaped(one.name)}</text>${row(one)}</g>`);
    return `<h2>${escaped(title)}</h2>
<svg viewBox="0 0 ${WIDTH} ${bottom + 30}" role="img" aria-label="${escaped(title)}" font-family="system-ui" font-size="13">
${[...axis, ...rows].join('\n')}
</svg>`;
}
function ratioPlot(all) {
    const every = all.flatMap(ratios);
    const [low, high] = [Math.min(0.5, ...every), Math.max(2, ...every)].map(Math.log2);
    const [from, to] = [Math.floor(low ?? -1), Math.ceil(high ?? 1)];
    const at = (ratio) => LEFT + ((Math.log2(ratio) - from) / (to - from)) * (WIDTH - LEFT - 30);
    const ticks = Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i));
    return plot('Ours to the other, ratio of each round', all, { at, ticks, label: String }, (one) => {
        const each = ratios(one);
        const [least, middle, most] = [Math.min(...each), median(each), Math.max(...each)].map(at);
        const colour = median(each) >= 1 ? OURS : '#bf8700';
        return `<path d="M${least} ${ROW / 2}H${most}" stroke="${colour}" stroke-width="6" opacity=".35"/>
<circle cx="${middle}" cy="${ROW / 2}" r="6" fill="${colour}"><title>${median(each).toFixed(2)}</title></circle>`;
    });
}
function ratePlot(all) {
    const most = Math.max(...all.flatMap(({ ours, peer }) => [...ours, ...peer]));
    const at = (rate) => LEFT + (rate / most) * (WIDTH - LEFT - 30);
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * most);
    const bar = (rates, y, colour) => `<rect x="${LEFT}" y="${y}" width="${at(median(rates)) - LEFT}" height="12" fill="${colour}"/>` +
        rates.map((rate) => `<circle cx="${at(rate)}" cy="${y + 6}" r="2" fill="#24292f"/>`).join('');
    return plot('Requests a second: ours (blue), the other (grey), a dot for each round', all, { at, ticks, label: thousands }, (one) => bar(one.ours, 3, OURS) + bar(one.peer, 18, PEER));
}
/** Writes one HTML page that needs no other file. Returns its path relative to the working directory. */
export function writeReport(report, folder = new URL('dist/bench/', packageRoot)) {
    const { machine, date, compared, lines } = report;
    const plots = compared.length === 0 ? [] : [ratioPlot(compared), ratePlot(compared)];
    const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Bench of ${day(date)}</title>
<style>body{font:15px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#24292f;background:#fff}pre{overflow:auto;background:#f6f8fa;padding:1rem}</style>
<h1>Bench</h1><p>${date.toISOString()}, ${escaped(machine)}. Figures are of this machine in this hour; ratios travel.</p>
${plots.join('\n')}
<h2>For docs/benchmarks.md</h2><pre>${escaped(tableRows(report))}</pre>
<h2>As it was printed</h2><pre>${escaped(lines.join('\n'))}</pre></html>
`;
    mkdirSync(folder, { recursive: true });
    const path = fileURLToPath(new URL('report.html', folder));
    writeFileSync(path, page);
    return relative(process.cwd(), path);
}
//# sourceMappingURL=report.js.map