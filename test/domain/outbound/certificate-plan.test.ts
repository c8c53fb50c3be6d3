import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { authorityLife, renewalAt, tunnelLife, whyEnded } from "../../../src/domain/outbound/certificate-plan.ts"

const minute = 60_000
const hour = 60 * minute
const now = Date.UTC(2026, 0, 1)

describe("certificates of tunnels", () => {
  it("are valid from a minute ago", () => {
    expect(tunnelLife(now, 24)).toEqual({ from: now - minute, until: now + 24 * hour })
    expect(authorityLife(now)).toEqual({ from: now - minute, until: now + 3_650 * 24 * hour })
  })

  it("are renewed at two thirds of their life at the latest, spread over a tenth of it", () => {
    const life = { from: now, until: now + 30 * hour }
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
