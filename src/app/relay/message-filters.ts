/**
 * The layers between a client and its router, in their order. A message of the client passes from the first to the last
 * and then reaches the router; a message to the client passes from the last to the first. An answer that a layer makes
 * passes the layers before it alone.
 *
 * Not here: the form of a filter (domain/protocol/message-filter.ts), and carrying its decisions out (message-path.ts).
 */

import type { EnvironmentAnswers } from "../../domain/branches/environment-answers.ts"
import { answerRows, Policing } from "../../domain/policies/policing.ts"
import { type MessageFilter, pass } from "../../domain/protocol/message-filter.ts"
import { portOfError } from "../../domain/protocol/named-port.ts"
import type { ClientRowKey, DaemonRowKey } from "../../domain/protocol/peek.ts"
import type { ResponseError } from "../../domain/protocol/response-error.ts"
import { clientVersion } from "../../domain/relay/handshake.ts"
import { lockFromClient, lockToClient } from "../../domain/relay/port-locks.ts"
import { unansweredRows } from "../../domain/relay/table.ts"
import { readableError } from "../../domain/relay/versions.ts"
import { heardNoPing, heardPing } from "../../domain/sessions/client-pulse.ts"
import { type ClientConnection, elapsed } from "./client-connection.ts"

/** The filters of a connection, the client's side first. */
export const messageFilters = (connection: ClientConnection): ReadonlyArray<MessageFilter> => {
  const { environment, firstByte, limits, watched } = connection.options
  return [
    // Hears whatever the client gets first, answers of all other layers included.
    firstByte,
    // Each message is a sign of life, also one that goes no further.
    clientPulse(connection),
    connection.options.isUser ? acknowledgement(connection) : undefined,
    // A subscription that a policy forbids must not claim its port, and watchers see only what is allowed.
    policies(connection, Policing.of(limits?.policies.policies ?? [])),
    // Hears the requests for variables as the agent gets them: policies have hidden variables from them.
    environment && sessionEnvironment(environment),
    watched,
    // The last layer: a subscription that another layer keeps from the router must hold no port.
    portLocks(connection)
  ].filter((filter) => filter !== undefined)
}

/** The client's pulse, from which its silence is judged. */
const clientPulse = (connection: ClientConnection): MessageFilter => ({
  fromClient: {
    rows: "every",
    hear: (_, row) => {
      const now = elapsed(connection.clock)
      connection.pulse = row === "Ping" ? heardPing(connection.pulse, now) : heardNoPing(connection.pulse, now)
      return pass
    }
  }
})

/**
 * Acknowledges messages that have no answer: the client's socket would hold back what it sends behind them for 40 ms.
 * The link of a primary holds nothing back.
 */
const acknowledgement = ({ options: { client } }: ClientConnection): MessageFilter => ({
  fromClient: {
    rows: unansweredRows,
    hear: () => {
      client.acknowledge?.()
      return pass
    }
  }
})

/** Answers in place of members where policies forbid; each answer keeps its place among those of members. */
const policies = (connection: ClientConnection, policing: Policing | undefined): MessageFilter | undefined =>
  policing && {
    fromClient: {
      rows: policing.rows,
      hear: (bytes) => policing.asked(bytes, (error) => refusalForm(connection, error))
    },
    toClient: {
      rows: answerRows,
      hear: (bytes, row) => {
        const answers = policing.answered(bytes, row)
        return answers.length === 0 ? pass : { _tag: "PassBefore", answers }
      }
    }
  }

/**
 * A refusal in a form that the client can read. A primary reads the refusal of a subscription itself, whatever its
 * client can read: it gives its user the reason, and learns for how long.
 */
const refusalForm = ({ options, state }: ClientConnection, error: ResponseError): ResponseError =>
  options.isUser || portOfError(error) === undefined ? readableError(error, clientVersion(state)) : error

/**
 * Variables lead to the session's branches and queues. Every message is heard: the first request of a connection is
 * special.
 */
const sessionEnvironment = (environment: EnvironmentAnswers): MessageFilter => ({
  fromClient: { rows: "every", hear: (bytes, row) => environment.asked(bytes, row) },
  toClient: { rows: variableRows, hear: (bytes) => environment.answered(bytes) }
})

const variableRows: ReadonlySet<DaemonRowKey | undefined> = new Set<DaemonRowKey>(["GetEnvVarsResponse"])

/** Each port is stolen by one connection of the session, or by several with filters (wire.md §8.22). */
const portLocks = ({ options: { locks }, self }: ClientConnection): MessageFilter => ({
  fromClient: {
    rows: stealRows,
    hear: (bytes) => {
      const locked = lockFromClient(
        locks.current,
        self,
        bytes,
        (holder) => locks.holders.get(holder)?.mayBeReplaced() ?? true
      )
      locks.current = locked.locks
      for (const holder of locked.replaced ?? []) locks.holders.get(holder)?.replaced()
      return locked.answer === undefined ? pass : { _tag: "Answered", answers: [locked.answer], warning: undefined }
    }
  },
  toClient: {
    rows: resultRows,
    hear: (bytes) => {
      locks.current = lockToClient(locks.current, self, bytes)
      return pass
    }
  }
})

const stealRows: ReadonlySet<ClientRowKey | undefined> = new Set<ClientRowKey>([
  "TcpSteal.PortSubscribe",
  "TcpSteal.PortUnsubscribe"
])
const resultRows: ReadonlySet<DaemonRowKey | undefined> = new Set<DaemonRowKey>(["TcpSteal.SubscribeResult"])
