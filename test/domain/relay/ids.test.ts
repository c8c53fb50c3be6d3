import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type Channel,
  clientIdOf,
  freeId,
  freeMember,
  type Ids,
  noIds,
  openId,
  openIds,
  routeOf
} from "../../../src/domain/relay/ids.ts"
import { memberName } from "../../../src/domain/relay/member.ts"

const members = ["a", "b", "c"].map(memberName)
const member = fc.constantFrom(...members)
const channel = fc.constantFrom<Channel>("Tcp", "TcpSteal")
const act = fc.oneof(
  fc.record({ do: fc.constant("open" as const), member, channel, memberId: fc.bigInt(0n, 5n) }),
  fc.record({ do: fc.constant("free" as const), clientId: fc.bigInt(0n, 40n) }),
  fc.record({ do: fc.constant("lose" as const), member })
)

describe("client-facing ids", () => {
  it("wire.md §8.5: ids of colliding members never collide, and none is given twice", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        let ids: Ids = noIds
        const given = new Set<bigint>()
        const open = new Map<bigint, string>()
        for (const one of acts) {
          if (one.do === "open") {
            if (clientIdOf(ids, one.member, one.channel, one.memberId) !== undefined) continue
            const [next, id] = openId(ids, one.member, one.channel, one.memberId)
            expect(given.has(id)).toBe(false)
            given.add(id)
            open.set(id, `${one.member} ${one.channel} ${one.memberId}`)
            ids = next
          } else if (one.do === "free") {
            ids = freeId(ids, one.clientId)
            open.delete(one.clientId)
          } else {
            const [next, lost] = freeMember(ids, one.member)
            ids = next
            const expected = [...open].filter(([, owner]) => owner.startsWith(one.member)).map(([id]) => id)
            expect(lost.map(({ clientId }) => clientId)).toEqual(expected.toSorted((x, y) => Number(x - y)))
            for (const id of expected) open.delete(id)
          }
          expect(openIds(ids)).toBe(open.size)
          for (const [id, owner] of open) {
            const [name, inChannel, memberId] = owner.split(" ")
            const known = inChannel === "Tcp" ? "Tcp" : "TcpSteal"
            expect(routeOf(ids, known, id)).toEqual({ member: name, channel: known, memberId: BigInt(memberId ?? "") })
            expect(clientIdOf(ids, memberName(name ?? ""), known, BigInt(memberId ?? ""))).toBe(id)
            expect(routeOf(ids, known === "Tcp" ? "TcpSteal" : "Tcp", id)).toBeUndefined()
          }
        }
      })
    )
  })

  it("wire.md §8.9: nothing is left of a freed id or a lost member", () => {
    let ids: Ids = noIds
    for (const name of members)
      for (const inChannel of ["Tcp", "TcpSteal"] as const) [ids] = openId(ids, name, inChannel, 0n)
    ids = freeId(freeId(ids, 0n), 0n)
    for (const name of members) [ids] = freeMember(ids, name)
    expect(openIds(ids)).toBe(0)
    expect([...ids.byMember]).toEqual([])
    expect(ids.next).toBe(6n)
  })
})
