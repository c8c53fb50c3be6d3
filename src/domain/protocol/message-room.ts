/**
 * The memory that the unfinished messages of all connections share: how much there is, and which message may grow in
 * it. A message that may not grow waits, and its connection is not read.
 *
 * Not here: the shares and those who wait (adapters/stream/message-room.ts).
 */

import { maxMessage } from "./frame-cutter.ts"

/** Room for headers, and for bytes behind the end of a message that are read with it. */
const margin = 128 * 1024

/** The room of a process whose memory has no known limit, in bytes. */
const defaultRoom = 2 * maxMessage

/**
 * The room of a process that may use `limit` bytes of memory; `undefined` if no limit is known. The heap has 40 %, and
 * what is read, written and thrown away needs as much again as the room itself.
 */
export const roomWithin = (limit: number | undefined): number =>
  Math.max(maxMessage, limit === undefined ? defaultRoom : Math.floor(limit / 4)) + margin

export interface Growth {
  /** Bytes that the message holds. */
  readonly held: number
  /** Bytes that it is to hold. */
  readonly wanted: number
  /** The most bytes that it may come to hold: its announced length, or the largest that is allowed. */
  readonly most: number
}

/**
 * Whether a message may grow when `free` of `size` bytes are free. It may only if there is room for all of it, so that
 * the message that grew last can always be finished; its end makes room for the one that grew before it, and so on.
 * Therefore messages that wait never wait for each other. A message beyond all room is taken for one that fits.
 */
export const mayGrow = (size: number, free: number, { held, most, wanted }: Growth): boolean =>
  Math.min(size, Math.max(most, wanted)) - held <= free
