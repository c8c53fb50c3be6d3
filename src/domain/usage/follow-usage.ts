/**
 * Decides which records are to be written, from the sessions that there are now and from those that were followed
 * before. The decision is level-triggered: an operator that starts compares the sessions of the cluster with the
 * records that are open, and so each session has one record, whatever was interrupted.
 *
 * Not here: reading sessions (seen-session.ts) and writing (app/usage).
 */

import type { SeenSession } from "./seen-session.ts"
import { recordKey, type UsageRecord } from "./usage-record.ts"

/** Milliseconds between two writes of one session's heartbeat. A crash of the operator may shorten a record by that. */
export const heartbeatEvery = 60_000

/** A session whose record is open, or whose end is not written yet. */
export interface Followed {
  readonly record: UsageRecord
  /** The record as the store has it; `undefined` if it has none. */
  readonly written: UsageRecord | undefined
  /** The session as it was seen last; `undefined` if its record has to be compared with it again. */
  readonly seen: SeenSession | undefined
}

/** The followed sessions by {@link recordKey}. */
export type FollowedSessions = ReadonlyMap<string, Followed>

/** The same session as before and now. The start stays the first one: a client that comes back goes on with its own. */
const merged = (before: UsageRecord | undefined, seen: SeenSession, endedAt: number | undefined): UsageRecord => {
  const startedAt = Math.min(before?.startedAt ?? seen.startedAt, seen.startedAt)
  const lastSeenAt = Math.max(before?.lastSeenAt ?? seen.lastSeenAt, seen.lastSeenAt)
  const end = seen.stoppedAt === undefined ? undefined : Math.max(startedAt, endedAt ?? seen.stoppedAt)
  const clusters = [...new Set([...(before?.clusters ?? []), ...seen.clusters])].toSorted()
  return {
    ...seen,
    startedAt,
    lastSeenAt,
    clusters,
    stoppedAt: end === undefined ? undefined : (before?.stoppedAt ?? end)
  }
}

/** Whether it is gone and has its end. */
const hasEnded = ({ record, seen }: Followed): boolean => seen === undefined && record.stoppedAt !== undefined

/** A session that is gone ended when its end was heard of, otherwise at its last heartbeat and never now. */
const ended = (record: UsageRecord, endedAt: number | undefined): UsageRecord =>
  record.stoppedAt === undefined
    ? { ...record, stoppedAt: Math.max(record.startedAt, endedAt ?? record.lastSeenAt) }
    : record

/**
 * Takes over the open records of a store that was opened: of sessions of before, or of those that are followed. Other
 * followed sessions are written again, in case that the store has lost them.
 */
export const adopt = (followed: FollowedSessions, open: ReadonlyArray<UsageRecord>): FollowedSessions => {
  const now = new Map<string, Followed>([...followed].map(([key, one]) => [key, { ...one, written: undefined }]))
  for (const stored of open) {
    const key = recordKey(stored)
    const seen = followed.get(key)?.record
    now.set(key, {
      record: seen === undefined ? stored : merged(stored, seen, undefined),
      written: stored,
      seen: undefined
    })
  }
  return now
}

/** The sessions that there are now. */
export interface SeenSessions {
  readonly sessions: ReadonlyArray<SeenSession>
  /** The ends that this process has heard of, epoch ms, by {@link recordKey}. */
  readonly ends: ReadonlyMap<string, number>
}

/**
 * The sessions to follow from now on. Those that are gone stay until their end is written. A session that is seen as it
 * was before costs a look in a table.
 */
export const follow = (before: FollowedSessions, { ends, sessions }: SeenSessions): FollowedSessions => {
  const now = new Map<string, Followed>()
  for (const seen of sessions) {
    const key = recordKey(seen)
    const known = before.get(key)
    const isSame = known !== undefined && known.seen === seen
    now.set(key, isSame ? known : { record: merged(known?.record, seen, ends.get(key)), written: known?.written, seen })
  }
  for (const [key, known] of before) {
    if (now.has(key)) continue
    const last = hasEnded(known) ? known : { ...known, record: ended(known.record, ends.get(key)), seen: undefined }
    if (isDue(last)) now.set(key, last)
  }
  return now
}

/** The same sessions without the oldest of those that are gone, of which `max` stay, and how many were dropped. */
export const withNewest = (
  followed: FollowedSessions,
  max: number
): { readonly followed: FollowedSessions; readonly dropped: number } => {
  const gone = followed.size > max ? [...followed].filter(([, one]) => hasEnded(one)) : []
  if (gone.length <= max) return { followed, dropped: 0 }
  const oldest = gone.toSorted(([, a], [, b]) => a.record.startedAt - b.record.startedAt).slice(0, gone.length - max)
  const now = new Map(followed)
  for (const [key] of oldest) now.delete(key)
  return { followed: now, dropped: oldest.length }
}

/** Whether the store is to have the record as it is now. */
const isDue = ({ record, written }: Followed): boolean =>
  written === undefined ||
  written.stoppedAt !== record.stoppedAt ||
  written.startedAt !== record.startedAt ||
  written.clusters.length !== record.clusters.length ||
  record.lastSeenAt - written.lastSeenAt >= heartbeatEvery

/** The records to write, the oldest first. */
export const dueRecords = (followed: FollowedSessions): ReadonlyArray<UsageRecord> =>
  [...followed.values()]
    .filter(isDue)
    .map(({ record }) => record)
    .toSorted((a, b) => a.startedAt - b.startedAt)

/** The same sessions after these records were written. */
export const afterWrites = (followed: FollowedSessions, records: ReadonlyArray<UsageRecord>): FollowedSessions => {
  if (records.length === 0) return followed
  const now = new Map(followed)
  for (const record of records) {
    const key = recordKey(record)
    now.set(key, { record, written: record, seen: followed.get(key)?.seen })
  }
  return now
}
