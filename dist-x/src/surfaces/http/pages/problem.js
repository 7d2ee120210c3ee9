import { errorPage } from './views.js';
/** The error pages of a room whose readers are people. */
export function problems({ advice, away }) {
    const showProblem = (visit, status, problem, retryAfter) => {
        const html = errorPage({ ...problem, requestId: visit.requestId, advice });
        visit.page(status, html, undefined, { ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }) });
    };
    /** A failure becomes an error page, and the log gets the reason. */
    const showRefusal = (visit, error) => {
        const { status, details } = visit.refusal(error);
        const [title, sentence] = status < 500
            ? ['This request cannot be answered', 'The form did not come from this page, or the page is out of date.']
            : ['The gateway cannot answer now', `${away} Try again in a moment.`];
        showProblem(visit, status, { title, sentence }, details.retryAfter);
    };
    return { showProblem, showRefusal };
}
//# sourceMappingURL=problem.js.map