/**
 * The news for a user about a session's representative, the pod whose environment, files and outgoing connections the
 * session has where this cluster is the default (agent.md §1.3).
 *
 * Not here: choosing the pod (session-agents.ts in app/sessions/member) and its container (target/container-choice.ts).
 */

import type { AgentPlacement } from "../targets/pod-choice.ts"

export interface Representative {
  readonly pod: string
  readonly placement: Pick<AgentPlacement, "containerName" | "guessed"> | undefined
  /** The representative at the client's last connection; `undefined` at the first. */
  readonly before: string | undefined
  /** Whether the client is the user's own. It then has seen the target's containers itself. */
  readonly isUser: boolean
}

/** One sentence each. The representative changes only when its pod or agent is gone. */
export const representativeNews = ({ before, isUser, placement, pod }: Representative): ReadonlyArray<string> => {
  if (before !== undefined) {
    return before === pod ? [] : [`Pod ${pod} serves the session now instead of pod ${before}.`]
  }
  return placement?.guessed === true && !isUser
    ? [`No container was named: container ${placement.containerName} of pod ${pod} was chosen.`]
    : []
}
