import { describe, expect, it } from "vitest"
import { eksFailure, podIdentityFailure } from "../../../../src/domain/fleet/credentials/eks-failure.ts"

describe("a failure to get an AWS identity", () => {
  it.each([
    ["AccessDenied", "trust policy"],
    ["InvalidIdentityToken", "identity provider of the AWS account"],
    ["ExpiredTokenException", "restart the operator's pod"],
    ["CredentialsProviderError", "sa.roleArn"],
    ["ENOENT", "sa.roleArn"],
    ["TimeoutError", "reach AWS STS"]
  ])("%s is told with a cure", (name, cure) => {
    const text = eksFailure({ name, message: "Something\nis wrong." })
    expect(text).toContain(`(${name}: Something is wrong); `)
    expect(text).toContain(cure)
  })

  it.each([
    [true, "pods.eks.amazonaws.com do sts:AssumeRole"],
    [false, "eks-pod-identity-agent"]
  ])("of a Pod Identity, answered by its agent: %s, is told with a cure", (hasAnswered, cure) => {
    const text = podIdentityFailure({ name: "AccessDenied", message: "No, eyJhbGciOi.eyJjYW5h.c2ln." }, hasAnswered)
    expect(text).toContain("from its Pod Identity (AccessDenied: No, …")
    expect(text).toContain(cure)
  })

  it("has a clean name, whoever chose it", () => {
    const name = `Access\nDenied ${"k".repeat(40)}`
    expect(eksFailure({ name, message: "no" })).toContain("(Access Denied …: no)")
  })

  it("keeps paths and names of roles, and no secret", () => {
    const kept = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token arn:aws:iam::123456789012:role/operator"
    expect(eksFailure({ name: "E", message: kept })).toContain(kept)
    const secrets = [
      "eyJhbGciOi.eyJjYW5h.c2ln",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      `IQoJb3JpZ2lu${"A/+".repeat(100)}==`
    ]
    for (const secret of secrets)
      expect(eksFailure({ name: "E", message: `before '${secret}' after` })).toContain("(E: before '…' after)")
  })
})
