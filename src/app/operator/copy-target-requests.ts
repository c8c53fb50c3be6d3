/**
 * Takes requests for copies of targets through the operator: identifies the user, and hands the request to the
 * capability that makes copies. Knows no pods.
 */

import { Effect } from "effect"
import { boundedTexts } from "../../domain/sessions/connect-texts.ts"
import { askedBy } from "../api/asked-by.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { CopyTargetRequest } from "../api/operator-facade.ts"
import { type ApiError, badRequest, notFound } from "../api/status.ts"
import { ownerOf } from "../certificates/user-identity.ts"
import { audit } from "../kernel/audit.ts"
import { copyTargetsOf, noCopies, type Reception, usable } from "./admit-connect.ts"

const create = (reception: Reception, asked: CopyTargetRequest): Effect.Effect<object, ApiError> =>
  Effect.gen(function* () {
    const copies = copyTargetsOf(reception.capabilities)
    if (copies === undefined) return yield* noCopies()
    const bounded = boundedTexts({ ...asked, target: "", clientVersion: undefined })
    const request = yield* Effect.mapError(Effect.fromResult(bounded), badRequest)
    yield* usable(reception)
    if (request.certificate === undefined) return yield* copies.createOrdered(request)
    const owner = yield* ownerOf(reception.authority, reception.wall, request, request.certificate)
    return yield* copies.create(request, owner)
  }).pipe(
    Effect.tapError(({ code, message, reason }) =>
      audit({ act: "refused", ...askedBy(asked), namespace: asked.namespace, code, reason, message })
    )
  )

export const copyTargetRequests = (
  reception: Reception
): Pick<Facade, "createCopyTarget" | "listCopyTargets" | "copyTarget"> => {
  const copies = copyTargetsOf(reception.capabilities)
  return {
    createCopyTarget: (request) => create(reception, request),
    listCopyTargets: (selection) =>
      copies === undefined ? Effect.succeed([]) : Effect.andThen(usable(reception), () => copies.list(selection)),
    copyTarget: (namespace, name, caller) =>
      copies === undefined
        ? Effect.fail(notFound(`There is no copy target ${name}: this operator makes none.`))
        : Effect.andThen(usable(reception), () => copies.get(namespace, name, caller))
  }
}
