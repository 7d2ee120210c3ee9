import { html } from '../http/html.js';
import { EMAIL, named, shell } from '../http/pages/shell.js';
export const linkPage = ({ email, organization, action, link }) => shell({
    title: 'Sign in to the console',
    kind: 'narrow',
    body: html `
<h1>Sign in to the console</h1>
<p class="lead">This link signs you in once as ${named(email, EMAIL)} of ${named(organization)}.</p>
<form method="post" action="${action}">
  <input type="hidden" name="link" value="${link}">
  <p class="buttons"><button class="main" type="submit">Sign in</button></p>
</form>
<ul class="small"><li>Continue only if you have asked for this link.</li><li>The link works once, and for 15 minutes.</li></ul>`,
});
export const linkEndedPage = () => shell({
    title: 'This link has ended',
    kind: 'narrow',
    body: html `
<h1>This link has ended</h1>
<p class="lead">A link works once, and for 15 minutes.</p>
<p>Ask the operator of this gateway for another link, or <a href="/console">sign in with your password</a>. Each
<code>npm start</code> prints a new link of the demo’s owner.</p>`,
});
//# sourceMappingURL=link.js.map