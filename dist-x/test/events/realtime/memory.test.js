import { expect, it } from 'vitest';
import { writeCursor } from '../../../src/events/cursors.js';
import { RealtimeConnection } from '../../../src/events/realtime/connection.js';
import { TIMINGS } from '../../../src/events/realtime/wire.js';
import { StoreUnreachable } from '../../../src/store/driver/errors.js';
import { eventually } from '../../support/eventually.js';
import { KEYS } from '../../support/keys.js';
/**
 * Makes a socket whose client reads nothing, so all sent bytes stay in the gateway. `pages` replaces some functions of
 * the object that reads pages.
 */
function deaf(pages = {}) {
    const told = { frames: [], buffered: 0, cut: 0, closed: 0, ended: 0 };
    const wire = {
        send: (text) => {
            told.buffered += text.length;
            told.frames.push(JSON.parse(text).type);
        },
        ping: () => undefined,
        deafen: () => undefined,
        get buffered() {
            return told.buffered;
        },
        close: () => {
            told.closed++;
        },
        cut: () => {
            told.cut++;
        },
    };
    const connection = new RealtimeConnection({
        session: 's',
        epoch: 1,
        expiresAt: 0,
        authority: {},
        from: '127.0.0.1',
        pages: pages,
        wire,
        timings: TIMINGS,
        onEnd: () => {
            told.ended++;
        },
    });
    return { told, connection };
}
it('WS-06 a client that takes nothing is cut at one mebibyte, once, and no more is sent', () => {
    const { told, connection } = deaf();
    told.buffered = 1024 * 1024 - 40;
    connection.receive({ type: 'ping', id: 'a' });
    expect([told.cut, told.ended]).toEqual([0, 0]);
    connection.receive({ type: 'ping', id: 'b' });
    expect([told.cut, told.ended, told.closed]).toEqual([1, 1, 0]);
    const { buffered } = told;
    for (let i = 0; i < 10; i++)
        connection.receive({ type: 'ping', id: i });
    connection.close('restart');
    expect([told.buffered, told.cut, told.ended, told.closed]).toEqual([buffered, 1, 1, 0]);
});
it('a page that could not be charged is read again, from where it began', async () => {
    const subscription = `sub_${'0'.repeat(32)}`;
    const at = (position) => writeCursor(KEYS, {
        subscription,
        revision: 1,
        credential: 'c',
        environment: 'test',
        positions: new Map([['web_1_1', position]]),
    });
    const asked = [];
    let failures = 2;
    const { told, connection } = deaf({
        keys: KEYS,
        onError: () => undefined,
        open: async () => ({ revision: 1, cursor: at(0) }),
        watch: () => () => undefined,
        read: async (_, { after }) => {
            asked.push(after);
            if (failures-- > 0)
                throw new StoreUnreachable('away');
            const events = [{ cursor: 1 }];
            return {
                subscription_id: '',
                revision: 1,
                events,
                next_cursor: at(1),
                has_more: false,
                retention: [],
                coverage: [],
            };
        },
    });
    connection.receive({ type: 'attach', id: 1, subscription_id: subscription });
    await eventually(() => expect(asked).toHaveLength(1));
    for (let i = 1; i <= 2; i++) {
        await eventually(() => {
            connection.tick(performance.now() + 2_000);
            expect(asked).toHaveLength(1 + i);
        });
    }
    await eventually(() => expect(told.frames.at(-1)).toBe('page'));
    expect(asked).toEqual([at(0), at(0), at(0)]);
});
//# sourceMappingURL=memory.test.js.map