import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { type AskedPlace, whyFull } from "../../../src/domain/outbound/people-bounds.ts"

const asked: AskedPlace = {
  cluster: clusterName("b"),
  user: "ann",
  isUpgrade: false,
  requests: 99,
  upgrades: 9,
  lanes: 809
}

describe("a person's request to a member", () => {
  it.each<Partial<AskedPlace>>([{}, { isUpgrade: true }, { upgrades: 10 }])("has the last place: %j", (change) =>
    expect(whyFull({ ...asked, ...change })).toBeUndefined()
  )

  it.each<readonly [Partial<AskedPlace>, string]>([
    [{ requests: 100 }, '100 requests of people go to cluster "b", which is the most'],
    [{ isUpgrade: true, upgrades: 10 }, 'User "ann" has 10 connections to pods of members, which is the most'],
    [
      { lanes: 810 },
      'The tunnel of cluster "b" has 810 requests and sessions, and no place for people; try again later.'
    ]
  ])("is refused with %j", (change, why) => expect(whyFull({ ...asked, ...change })).toContain(why))
})
