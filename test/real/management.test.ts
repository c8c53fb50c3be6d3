import { realClientCases } from "./client-cases.ts"

realClientCases("management", 70)
