// This script runs before the first paint, so that a page in the chosen theme does not flash in the other theme.
const { dataset } = document.documentElement;
dataset.script = 'on';
try {
  dataset.theme = localStorage.getItem('theme') ?? 'auto';
} catch {
  // A browser can refuse storage. The page then follows the theme of the system.
  dataset.theme = 'auto';
}
