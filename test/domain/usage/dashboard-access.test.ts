import { describe, expect, it } from "@effect/vitest"
import {
  admitDashboard,
  type DashboardRules,
  neededClaims,
  personOf,
  readPerson,
  whyNotShown
} from "../../../src/domain/usage/dashboard-access.ts"

const rules: DashboardRules = { groups: ["dev", "ops"], emails: ["Jane@Example.com"], groupsClaim: "roles" }

describe("a person who has logged in", () => {
  it("has those groups that are listed, of the claim that was named", () => {
    const claims = { sub: "1", preferred_username: "jane", roles: ["dev", "all", 7], groups: ["ops"] }
    expect(personOf(claims, rules)).toEqual({ name: "jane", groups: ["dev"], email: undefined })
    expect(personOf({ sub: "1", roles: "ops" }, rules)).toEqual({ name: "1", groups: ["ops"], email: undefined })
    expect(personOf({}, rules)).toEqual({ name: "", groups: [], email: undefined })
  })

  it("has an address only if the provider says that it is verified", () => {
    const verified = (email_verified: unknown) => personOf({ email: "jane@example.com", email_verified }, rules)
    expect(verified(true).email).toBe("jane@example.com")
    for (const other of [false, undefined, "true", 1]) {
      expect(verified(other).email).toBeUndefined()
      expect(whyNotShown(verified(other), rules)).toContain("no verified address")
    }
    expect(whyNotShown(verified(true), rules)).toBeUndefined()
  })

  it("sees the page only by a group or an address of now", () => {
    const person = personOf({ sub: "1", roles: ["dev"], email: "a@b", email_verified: true }, rules)
    expect(whyNotShown(person, rules)).toBeUndefined()
    expect(whyNotShown(person, { ...rules, groups: ["ops"] })).toBe(
      'You are logged in as "a@b", with the address "a@b" and in none of the groups that may see this page. ' +
        "Ask who administers braid to list you in dashboard.oidc.groups or dashboard.oidc.emails."
    )
    expect(whyNotShown(person, { ...rules, groups: [], emails: [] })).toBeDefined()
  })

  it("is judged by the claims of all lists, for which the provider is asked once more where they are missing", () => {
    expect(neededClaims(rules)).toEqual(["roles", "email", "email_verified"])
    expect(neededClaims({ ...rules, groups: [] })).toEqual(["email", "email_verified"])
    expect(neededClaims({ ...rules, emails: [] })).toEqual(["roles"])
  })

  it("is read from what a cookie has kept, and from nothing else", () => {
    const person = personOf({ sub: "1", roles: ["dev"] }, rules)
    expect(readPerson(JSON.parse(JSON.stringify(person)))).toEqual(person)
    for (const kept of [undefined, "jane", {}, { name: 1 }, []]) expect(readPerson(kept)).toBeUndefined()
  })
})

describe("a request to the page of use", () => {
  const served = "mirrord.example.com"
  const request = { method: "GET", path: "/", host: served, isOfPerson: false }
  const tagOf = (more: Partial<Parameters<typeof admitDashboard>[0]>) => {
    const admission = admitDashboard({ ...request, ...more }, served)
    return admission._tag === "Refused" ? admission.status : admission._tag
  }

  it("logs in, in and out, and shows only to people", () => {
    expect(tagOf({})).toBe("LogIn")
    expect(tagOf({ path: "/usage" })).toBe("LogIn")
    expect(tagOf({ path: "/login", isOfPerson: true })).toBe("LogIn")
    expect(tagOf({ path: "/callback" })).toBe("LoggedIn")
    expect(tagOf({ path: "/logout" })).toBe("LogOut")
    expect(tagOf({ path: "/api/usage" })).toBe(401)
    expect(tagOf({ path: "/login/" })).toBe(401)
    expect(tagOf({ isOfPerson: true })).toBe("Shown")
    expect(tagOf({ isOfPerson: true, path: "/api/usage", method: "HEAD" })).toBe("Shown")
  })

  it("is told where to log in", () => {
    expect(admitDashboard({ ...request, path: "/usage.csv" }, served)).toMatchObject({
      message: "You are not logged in here; log in first: https://mirrord.example.com/login"
    })
  })

  it("is answered for the health check of a load balancer, which asks by any host", () => {
    for (const host of [undefined, "10.0.0.9:8050", served]) expect(tagOf({ host, path: "/healthz" })).toBe("Healthy")
    expect(tagOf({ host: "10.0.0.9:8050", path: "/healthz", method: "POST" })).toBe(421)
    expect(tagOf({ host: "10.0.0.9:8050", path: "/healthz/" })).toBe(421)
  })

  it("is refused for another host, that changes something, or has a path of two meanings", () => {
    for (const host of [undefined, "10.0.0.9:8050", "other.example.com", `${served}:80`])
      expect(tagOf({ host, isOfPerson: true })).toBe(421)
    expect(tagOf({ host: "Mirrord.Example.com", isOfPerson: true })).toBe("Shown")
    expect(tagOf({ method: "POST", isOfPerson: true })).toBe(405)
    expect(tagOf({ path: undefined, isOfPerson: true })).toBe(400)
  })
})
