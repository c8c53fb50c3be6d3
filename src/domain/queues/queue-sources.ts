/**
 * The queues that a workload reads, each once, however many variables, containers and ids name it. Two forwarders of
 * one queue would share its messages between them.
 *
 * Not here: forwarding.
 */

import type { QueueReference, QueuesOfVariable } from "./queue-references.ts"

/** A queue at SQS that is split. */
export interface QueueSource {
  /** The name that is the same for all texts that mean this queue, such as its ARN. */
  readonly identity: string
  /** The name or URL by which a variable names it; the first one of several. */
  readonly reference: string
  /** The ids that have it in the configuration; a session gets its messages by the filter of any. */
  readonly ids: ReadonlyArray<string>
}

/** A name or URL whose identity has to be looked up, and the first variable that has it. */
export interface NamedQueue {
  readonly reference: QueueReference
  readonly variable: QueuesOfVariable
}

/** The names and URLs of the variables, each once. */
export const referencesOf = (variables: ReadonlyArray<QueuesOfVariable>): ReadonlyArray<NamedQueue> => {
  const named = new Map<string, NamedQueue>()
  for (const variable of variables) {
    for (const reference of variable.references) {
      if (!named.has(reference.text)) named.set(reference.text, { reference, variable })
    }
  }
  return [...named.values()]
}

/** The queues behind the variables, in the order in which they come first. */
export const queueSources = (
  variables: ReadonlyArray<QueuesOfVariable>,
  identityOf: (reference: string) => string
): ReadonlyArray<QueueSource> => {
  const sources = new Map<string, QueueSource>()
  for (const { id, references } of variables) {
    for (const { text: reference } of references) {
      const identity = identityOf(reference)
      const source = sources.get(identity) ?? { identity, reference, ids: [] }
      sources.set(identity, source.ids.includes(id) ? source : { ...source, ids: [...source.ids, id] })
    }
  }
  return [...sources.values()]
}
