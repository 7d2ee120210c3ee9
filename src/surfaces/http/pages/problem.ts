import { errorPage } from './views.ts';
import type { Visit } from './visit.ts';

/** What the error pages of a room say. `advice`: what to do. `away`: what the gateway could not do. */
interface RoomTexts {
  readonly advice: string;
  readonly away: string;
}

/** The error pages of a room whose readers are people. */
export function problems({ advice, away }: RoomTexts) {
  const showProblem = (
    visit: Visit,
    status: number,
    problem: { readonly title: string; readonly sentence: string },
    retryAfter: number | undefined,
  ): void => {
    const html = errorPage({ ...problem, requestId: visit.requestId, advice });
    visit.page(status, html, undefined, { ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }) });
  };
  /** A failure becomes an error page, and the log gets the reason. */
  const showRefusal = (visit: Visit, error: unknown): void => {
    const { status, details } = visit.refusal(error);
    const [title, sentence] =
      status < 500
        ? ['This request cannot be answered', 'The form did not come from this page, or the page is out of date.']
        : ['The gateway cannot answer now', `${away} Try again in a moment.`];
    showProblem(visit, status, { title, sentence }, details.retryAfter);
  };
  return { showProblem, showRefusal };
}
