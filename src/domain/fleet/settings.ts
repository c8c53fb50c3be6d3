/** The settings of a fleet: a primary's files, how it finds further clusters, and a member's demand of its primary. */

import type { SettingCard } from "../catalogue/setting.ts"
import { clusterProviders } from "./provided-clusters.ts"

export const fleetSettings = {
  multiClusterFile: {
    variable: "MIRRORD_MULTICLUSTER_CONFIG",
    form: "path",
    about: "path of `multicluster-config.yaml`; set means that this is a primary"
  },
  clustersFile: { variable: "MIRRORD_CLUSTERS_CONFIG", form: "path", about: "path of `clusters-config.yaml`" },
  managementOnly: {
    variable: "PRIMARY_MANAGEMENT_ONLY",
    form: "truth",
    about:
      "takes the place of a primary's `managementOnly`. In `operator.extraEnv` the chart's rights and file follow it"
  },
  providers: {
    variable: "OPERATOR_MULTI_CLUSTER_PROVIDERS",
    form: "words",
    words: clusterProviders,
    default: [],
    value: "operator.multiCluster.providers",
    where: "primary",
    must: "names of providers, separated by commas without blanks",
    cure: "write kubeconfigSecrets, kubeconfigFile, kubeconfigDirectory, clusterApi or clusterProfile",
    about:
      "some of `kubeconfigSecrets`, `kubeconfigFile`, `kubeconfigDirectory`, `clusterApi` and `clusterProfile`, " +
      "separated by commas: [clusters are found](../operating/clouds.md#clusters-found-by-their-kubeconfigs) by " +
      "Secrets with kubeconfigs, by files, by Cluster API or by ClusterProfile"
  },
  clusterApiNamespace: {
    variable: "OPERATOR_CLUSTER_API_NAMESPACE",
    form: "namespace",
    defaultText: "the operator's",
    value: "operator.multiCluster.clusterApiNamespace",
    where: "primary",
    about: "namespace of the `Cluster` objects"
  },
  kubeconfigFile: {
    variable: "OPERATOR_KUBECONFIG_FILE",
    form: "path",
    about:
      "path of the [kubeconfig](../operating/clouds.md#clusters-of-kubeconfig-files) of `kubeconfigFile`; the " +
      "chart's `operator.multiCluster.kubeconfigFileSecret`"
  },
  kubeconfigDirectory: {
    variable: "OPERATOR_KUBECONFIG_DIRECTORY",
    form: "path",
    about:
      "path of the directory of `kubeconfigDirectory`; the chart's `operator.multiCluster.kubeconfigDirectorySecret`"
  },
  clusterProfileNamespace: {
    variable: "OPERATOR_CLUSTER_PROFILE_NAMESPACE",
    form: "namespace",
    defaultText: "the operator's",
    value: "operator.multiCluster.clusterProfileNamespace",
    where: "primary",
    about: "namespace of the `ClusterProfile` objects"
  },
  accessProvidersFile: {
    variable: "OPERATOR_ACCESS_PROVIDERS",
    form: "path",
    about:
      "path of `access-providers.yaml`, the [programs](../operating/clouds.md#clusters-by-clusterprofile) that give " +
      "credentials; the chart's `operator.multiCluster.accessProviders`"
  },
  isMember: {
    variable: "OPERATOR_MULTI_CLUSTER_MEMBER",
    form: "truth",
    default: false,
    value: "operator.multiClusterMember",
    about: "`true` says that primaries may use this cluster: `braid status` and the log call it a member"
  },
  requirePrimary: {
    variable: "OPERATOR_MULTI_CLUSTER_REQUIRE_PRIMARY",
    form: "truth",
    default: false,
    value: "operator.multiClusterMemberRequirePrimary",
    where: "targets",
    about:
      "`true` refuses sessions of primaries that do not say " +
      "[which cluster they are](../operating/fleet.md#a-second-primary)"
  },
  sharding: {
    variable: "OPERATOR_MULTI_CLUSTER_SHARDING",
    form: "truth",
    default: false,
    value: "operator.multiCluster.sharding",
    where: "primary",
    about:
      "`true` lets the replicas of a primary " +
      "[share the clusters](../operating/installation.md#replicas-that-share-the-clusters)"
  }
} as const satisfies SettingCard
