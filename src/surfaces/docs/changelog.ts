const VERSION = /^## (\S+)(?: - (\d{4}-\d{2}-\d{2}))?.*$/gm;

/**
 * The changelog as a JSON Feed (https://www.jsonfeed.org/version/1.1/): one item for each version, the newest first. Its
 * text is Markdown. A version without a date is not released.
 */
export function changelogFeed(changelog: string, baseUrl: string): object {
  const address = `${baseUrl}${CHANGELOG}`;
  const versions = [...changelog.matchAll(VERSION)];
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title: 'Changes of the Installation Gateway',
    home_page_url: `${baseUrl}/docs`,
    feed_url: address,
    items: versions.map(({ 0: heading, 1: version, 2: date, index }, n) => ({
      id: `${address}#${version}`,
      title: heading.slice('## '.length),
      content_text: changelog.slice(index + heading.length, versions[n + 1]?.index).trim(),
      ...(date !== undefined && { date_published: `${date}T00:00:00Z` }),
    })),
  };
}

export const CHANGELOG = '/changelog.json';
