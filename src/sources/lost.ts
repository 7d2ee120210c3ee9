/** The source cannot tell what changed since a position. The reader must begin again and compare all records. */
export class PositionLost extends Error {
  override readonly name = 'PositionLost';
}
