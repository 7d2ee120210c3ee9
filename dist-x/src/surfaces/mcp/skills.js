import { createHash } from 'node:crypto';
import { Failure } from '../../core/failures.js';
import { GUIDE_NAMES } from '../../core/guides.js';
import { skillText } from '../../core/skill-file.js';
import { selects } from '../../core/toolsets.js';
import { refusedUri } from './resources.js';
/** The extension of MCP for skills. Declaring it promises `skills/list` and `skills/get`. */
export const SKILLS = 'io.modelcontextprotocol/skills';
const MARKDOWN = 'text/markdown';
const SCHEME = 'skill://';
const uriOf = ({ name }) => `${SCHEME}${name}/SKILL.md`;
/**
 * Skills over MCP. A caller sees a skill if it can call the tools that the description names and, for a skill made from
 * a guide, if the guide is given. The text names only tools that the caller can call at this address, so each caller
 * has its own text and digest.
 *
 * A URI is compared whole with those of the files. No path is made from it.
 */
export function mcpSkills(files, registry) {
    const byUri = new Map(files.map((file) => [uriOf(file), file]));
    /** The skills that the caller sees, and the tools that it can call at this address. */
    const seenBy = async (mcpRequest) => {
        const authority = await mcpRequest.admit();
        const tools = registry.callableBy(authority).filter((tool) => selects(mcpRequest.selection, tool));
        const callable = new Set(tools.map(({ name }) => name));
        const given = mcpRequest.corridor.discovery(authority).guides();
        const hidden = new Set(GUIDE_NAMES.filter((guide) => !given.includes(guide)).map(skillOf));
        const seen = files.filter(({ name, needs }) => !hidden.has(name) && needs.every((tool) => callable.has(tool)));
        return { seen, callable };
    };
    /** An unknown and a forbidden skill have the same answer. */
    const one = async (mcpRequest, uri) => {
        const { seen, callable } = await seenBy(mcpRequest);
        const file = byUri.get(uri);
        if (file && seen.includes(file))
            return { file, text: skillText(file, callable) };
        if (file)
            mcpRequest.failed = new Failure('not_permitted'); // for the log only
        throw refusedUri(mcpRequest, uri, new Failure('not_found'));
    };
    return {
        /** True if the URI has the scheme of skills, so that `read` has to answer. */
        owns: (uri) => uri.startsWith(SCHEME),
        async list(mcpRequest) {
            const { seen, callable } = await seenBy(mcpRequest);
            return { skills: seen.map((file) => entryOf(file, skillText(file, callable))) };
        },
        async get(mcpRequest, uri) {
            const { file, text } = await one(mcpRequest, uri);
            return { skill: entryOf(file, text) };
        },
        async read(mcpRequest, uri) {
            const { text } = await one(mcpRequest, uri);
            return { contents: [{ uri, mimeType: MARKDOWN, text }] };
        },
        /** The skills in `resources/list`, for clients that know no skills. */
        async resources(mcpRequest) {
            const { seen } = await seenBy(mcpRequest);
            return seen.map((file) => {
                const { name, description } = file;
                return { uri: uriOf(file), name, title: titleOf(name), description, mimeType: MARKDOWN };
            });
        },
    };
}
function entryOf(file, text) {
    const uri = uriOf(file);
    const { name, description } = file;
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    return { uri, frontmatter: { name, description }, resources: [{ uri, digest, size: Buffer.byteLength(text) }] };
}
/** The skill that is made from a guide. Names of skills have no underscore. */
const skillOf = (guide) => guide.replaceAll('_', '-');
/** `hand-over` is `Hand over`. */
const titleOf = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');
//# sourceMappingURL=skills.js.map