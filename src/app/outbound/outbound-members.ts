/**
 * Members that dial out, as the fleet reaches them: by lanes of the cell. A cell that cannot start is started again,
 * and requests say why meanwhile.
 *
 * Not here: the tunnels (cell.ts), and requests on lanes (adapters/kubernetes).
 */

import type { Duplex } from "node:stream"
import { Effect, Schedule, type Scope } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { ClusterAccess } from "../../ports/cluster-connector.ts"
import type { ConnectOutbound, OpenPersonalLane } from "../../ports/outbound-connector.ts"
import { CellNotServed, type TunnelListener } from "../../ports/tunnel.ts"
import { logWarning } from "../kernel/log.ts"
import { type Cell, type CellOptions, startCell } from "./cell.ts"
import { makePersonalLanes } from "./people.ts"

/** Makes the access to a member whose requests and links go over lanes. The `kubernetes` adapter implements it. */
export type AccessByLanes = (
  name: ClusterName,
  openLane: () => Duplex
) => Effect.Effect<ClusterAccess, never, Scope.Scope>

/** The ways to members that dial out. */
export interface OutboundMembers {
  readonly connect: ConnectOutbound
  readonly openPersonalLane: OpenPersonalLane
}

const retries = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("10 seconds")])

/** Takes tunnels until the scope ends. */
export const serveOutboundMembers = Effect.fnUntraced(function* (
  options: CellOptions,
  access: AccessByLanes
): Effect.fn.Return<OutboundMembers, never, TunnelListener | Scope.Scope> {
  let cell: Cell | undefined
  let problem = "it has not begun to listen yet"
  const serving = Effect.flatMap(startCell(options), (started) => {
    cell = started
    return Effect.never
  })
  yield* Effect.scoped(serving).pipe(
    // An authority of another kind than this program makes cannot sign.
    Effect.catchDefect((defect) => Effect.fail(new CellNotServed({ message: String(defect) }))),
    Effect.tapError((error) => {
      problem = error.message
      return logWarning("cell does not take tunnels yet", { problem })
    }),
    Effect.retry(retries),
    Effect.forkScoped
  )
  const cellNow = (): Cell => {
    if (cell === undefined) throw new Error(`This operator takes no tunnels yet: ${problem}.`)
    return cell
  }
  return {
    connect: ({ name }) =>
      Effect.map(
        access(name, () => cellNow().openLane(name)),
        (member) => ({ ...member, until: () => cell?.until(name), since: () => cell?.since(name) })
      ),
    openPersonalLane: makePersonalLanes(cellNow)
  }
})
