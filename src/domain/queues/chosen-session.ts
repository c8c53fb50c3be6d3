/**
 * The session that gets a message if several want it, and the sessions that get copies. Every cluster chooses alike.
 *
 * Not here: whether a session wants a message (message-filter.ts).
 */

/** A session as one batch of messages sees it. */
export interface SplitSession {
  readonly id: bigint
  /** When the session started, in epoch milliseconds: the same number in every cluster. */
  readonly startedAt: number
  /** `mirror`: the session gets copies, and the workload goes on to get all messages. */
  readonly mode: "steal" | "mirror"
}

export interface Choice<S> {
  /** The session that gets the message; `undefined` if the workload does. */
  readonly taker: S | undefined
  /** The sessions that get copies. */
  readonly mirrors: ReadonlyArray<S>
}

/** The session that started first comes first; ids decide between equal starts. */
export const byStart = (a: Omit<SplitSession, "mode">, b: Omit<SplitSession, "mode">): number =>
  a.startedAt === b.startedAt ? Number(a.id > b.id) - Number(a.id < b.id) : a.startedAt - b.startedAt

/** The message goes to the session that started first among those that steal it; ids decide between equal starts. */
export const chooseSessions = <S extends SplitSession>(
  sessions: ReadonlyArray<S>,
  wants: (session: S) => boolean
): Choice<S> => {
  const wanting = sessions.filter(wants).toSorted(byStart)
  return {
    taker: wanting.find(({ mode }) => mode === "steal"),
    mirrors: wanting.filter(({ mode }) => mode === "mirror")
  }
}
