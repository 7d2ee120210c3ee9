// Runs before the first paint, so that the page does not flash in the other theme.
const { dataset } = document.documentElement;
dataset.script = 'on';
try {
  dataset.theme = localStorage.getItem('theme') ?? 'auto';
} catch {
  // If the browser refuses storage, the page follows the system's theme.
  dataset.theme = 'auto';
}
