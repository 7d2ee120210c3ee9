import type { OutgoingHttpHeaders } from 'node:http';
import { errorPage } from './views.ts';
import type { Visit } from './visit.ts';

/** The error pages of a room whose readers are people. `advice` says what to do. */
export function problems(advice: string) {
  const showProblem = (
    visit: Visit,
    status: number,
    problem: { readonly title: string; readonly sentence: string; readonly back?: string },
    retryAfter: number | undefined,
    headers: OutgoingHttpHeaders = {},
  ): void => {
    const html = errorPage({ ...problem, requestId: visit.requestId, advice });
    visit.page(status, html, undefined, {
      ...headers,
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    });
  };
  /** A failure becomes an error page, and the log gets the reason. */
  const showRefusal = (visit: Visit, error: unknown): void => {
    const { status, details } = visit.refusal(error);
    const wrong =
      visit.request.method === 'POST'
        ? 'The form did not come from this page, or the page is out of date.'
        : 'The address has a part that cannot be read. Correct the address.';
    const [title, sentence] =
      status < 500
        ? ['This request cannot be answered', wrong]
        : ['The gateway cannot answer now', 'Try again in a moment.'];
    showProblem(visit, status, { title, sentence }, details.retryAfter);
  };
  return { showProblem, showRefusal };
}
