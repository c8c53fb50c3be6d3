import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { authorityLife, renewalAt, tunnelLife, whyEnded } from "../../../src/domain/outbound/certificate-plan.ts"

const hour = 3_600_000
const now = Date.UTC(2026, 0, 1)

describe("certificates of tunnels", () => {
  it("are valid from an hour ago, for sides whose clocks are behind", () => {
    expect(tunnelLife(now, 24)).toEqual({ from: now - hour, until: now + 24 * hour })
    expect(authorityLife(now)).toEqual({ from: now - hour, until: now + 3_650 * 24 * hour })
  })

  it("are renewed at two thirds of the time after they were made at the latest, spread over a tenth of it", () => {
    const life = tunnelLife(now, 30)
    expect(renewalAt(life, 0)).toBe(now + 20 * hour)
    expect(renewalAt(life, 0.5)).toBe(now + 18.5 * hour)
    expect(renewalAt(life, 1)).toBe(now + 17 * hour)
  })

  it("that have ended are replaced by a command", () => {
    const life = tunnelLife(now, 24)
    expect(whyEnded(clusterName("b"), life, life.until - 1)).toBeUndefined()
    expect(whyEnded(clusterName("b"), life, life.until)).toBe(
      "the certificate of cluster b for its tunnel ended at 2026-01-02 00:00 UTC, and could not be renewed before; " +
        "run `braid join b --renew --cell HOST:PORT --apply` (HOST:PORT: where members reach the primary's cell) " +
        "with a kubeconfig of the primary, and give the token to this cluster"
    )
  })
})
