/** The source cannot tell what changed since a position. The reader must begin again and compare all records. */
export class PositionLost extends Error {
  override readonly name = 'PositionLost';
}

/** The address leads to another helpdesk than before. None of its records may be written. */
export class OtherInstallation extends Error {
  override readonly name = 'OtherInstallation';
}
