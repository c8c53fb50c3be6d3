/**
 * Takes requests for copies of targets: finds out their user, and hands them to the copies of this operator. Knows no
 * pods.
 */

import { Effect } from "effect"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { boundedTexts } from "../../domain/sessions/connect-texts.ts"
import { askedBy } from "../api/asked-by.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { Asker, CopyTargetRequest } from "../api/operator-facade.ts"
import { type ApiError, badRequest } from "../api/status.ts"
import { audit } from "../kernel/audit.ts"
import type { CopyTargets } from "../services/copy-targets.ts"

interface CopyReception {
  readonly copies: CopyTargets["Service"]
  /** Completes when the operator has started, and fails with its problems. */
  readonly usable: Effect.Effect<void, ApiError>
  /** The user of a certificate. */
  readonly ownerOf: (request: Asker, certificate: string) => Effect.Effect<SessionOwner, ApiError>
}

const create = Effect.fnUntraced(
  function* ({ copies, ownerOf, usable }: CopyReception, asked: CopyTargetRequest) {
    const bounded = boundedTexts({ ...asked, target: "", clientVersion: undefined })
    const request = yield* Effect.mapError(Effect.fromResult(bounded), badRequest)
    if (copies.areMade) yield* usable
    if (request.certificate === undefined) return yield* copies.createOrdered(request)
    const owner = yield* ownerOf(request, request.certificate)
    return yield* copies.create(request, owner)
  },
  (creating, _reception, asked) =>
    Effect.tapError(creating, ({ code, message, reason }) =>
      audit({ act: "refused", ...askedBy(asked), namespace: asked.namespace, code, reason, message })
    )
)

export const copyTargetRequests = (
  reception: CopyReception
): Pick<Facade, "createCopyTarget" | "listCopyTargets" | "copyTarget"> => {
  const { copies, usable } = reception
  const ready = copies.areMade ? usable : Effect.void
  return {
    createCopyTarget: (request) => create(reception, request),
    listCopyTargets: (selection) => Effect.andThen(ready, () => copies.list(selection)),
    copyTarget: (namespace, name, caller) => Effect.andThen(ready, () => copies.get(namespace, name, caller))
  }
}
