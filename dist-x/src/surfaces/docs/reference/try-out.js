import { jsonSchema, nodeOf } from '../../../core/json-schema.js';
import { exampleArguments, exampleCall } from '../../../gateway/examples.js';
import { html } from '../../http/html.js';
import { json2 } from '../highlight.js';
/**
 * The form that calls this gateway. It needs the script, so the script shows it. The token's field has no name, and the
 * script empties it at once, so that no browser stores the token.
 */
export function tryOut(tool) {
    // A page cannot set the header Origin, and a WebSocket needs a client of its own.
    if (tool.origin)
        return undefined;
    const example = exampleArguments(tool);
    const { headers, body } = exampleCall(tool);
    const fields = tool.parameters.filter((one) => one.in !== 'body');
    const shown = fields.filter(({ name, required }) => required || name in example);
    const more = fields.filter((one) => !shown.includes(one));
    return html `
<details class="try" hidden>
<summary>Try it</summary>
<form autocomplete="off" data-method="${tool.method}" data-path="${tool.path}">
  <p class="token"><label for="token">Token</label>
  <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="Paste a token">
  <span id="token-about">The token stays in the memory of this page. Nothing stores the token.</span>
  <button type="button" class="forget" disabled>Forget the token</button></p>
  ${shown.map((one) => field(one, example[one.name]))}
  ${tool.ifMatch ? input('If-Match', 'header', true, headers['If-Match'] ?? '') : undefined}
  ${tool.idempotency === 'none' ? undefined : input('Idempotency-Key', 'header', false, '', 'A new random key')}
  ${body
        ? html `<p><label for="try-body">Body</label>
  <textarea id="try-body" data-in="body" spellcheck="false" rows="${json2(body).split('\n').length}">${json2(body)}</textarea></p>`
        : undefined}
  ${more.length > 0
        ? html `<details class="more"><summary>${more.length} more ${more.length === 1 ? 'parameter' : 'parameters'}</summary>
  ${more.map((one) => field(one, undefined))}</details>`
        : undefined}
  <p class="send"><button type="submit">Send ${tool.method} request</button></p>
  <dialog class="confirm" aria-labelledby="confirm-title">
    <h3 id="confirm-title">Send this write?</h3>
    <p><code class="target"></code> can change stored records.</p>
    <p class="choice"><button type="button" class="no">Cancel</button> <button type="button" class="yes">Send</button></p>
  </dialog>
  <div class="result" hidden>
    <p class="outcome" role="status"></p>
    <dl class="received"></dl>
    <pre tabindex="0"><code></code></pre>
  </div>
</form>
</details>`;
}
const label = (name, required) => html `<label for="try-${name}">${name}${required ? html ` <span class="must">required</span>` : undefined}</label>`;
function input(name, place, required, value, hint = '') {
    return html `<p>${label(name, required)}
  <input id="try-${name}" data-in="${place}" data-name="${name}" value="${value}" placeholder="${hint}"${required ? html ` required` : undefined} autocomplete="off" spellcheck="false"></p>`;
}
function field({ name, in: place, schema, required, type }, example) {
    const node = nodeOf(jsonSchema(schema, 'input'));
    const value = example === undefined ? '' : String(example);
    const choices = type === 'boolean' ? ['true', 'false'] : (node.enum ?? []).map(String);
    const standard = node.default === undefined ? '' : `Default: ${String(node.default)}`;
    if (choices.length === 0)
        return input(name, place, required, value, standard);
    const option = (choice) => html `<option${choice === value ? html ` selected` : undefined}>${choice}</option>`;
    return html `<p>${label(name, required)}
  <select id="try-${name}" data-in="${place}" data-name="${name}">${required ? undefined : html `<option value="">${standard}</option>`}${choices.map(option)}</select></p>`;
}
//# sourceMappingURL=try-out.js.map