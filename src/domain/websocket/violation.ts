/**
 * The end of a WebSocket for which its peer is to blame, as the close code of RFC 6455 §7.4.1 and a text for people.
 */

export interface Violation {
  /** 1002: the protocol, 1007: no UTF-8, 1008: our bounds, 1009: too large, 1013: no room now. */
  readonly code: 1002 | 1007 | 1008 | 1009 | 1013
  readonly text: string
}
