// Command network-policies enforces NetworkPolicies on a node: the controller of kube-router alone, whose other parts
// route and balance.
package main

import (
	"flag"
	"log"
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file")
	settings := options.NewKubeRouterConfig()
	settings.EnableIPv4 = true
	flag.StringVar(&settings.HostnameOverride, "hostname-override", "", "name of the node")
	flag.StringVar(&settings.ClusterIPCIDRs[0], "service-cluster-ip-range", "", "addresses of Services")
	flag.Parse()
	access, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	client, err := kubernetes.NewForConfig(access)
	must(err)

	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	tables, sets, err := netpol.NewIPTablesHandlers(settings)
	must(err)
	var mutex sync.Mutex
	controller, err := netpol.NewNetworkPolicyController(client, settings, pods, policies, namespaces, &mutex, tables, sets)
	must(err)

	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: controller.PodEventHandler, namespaces: controller.NamespaceEventHandler,
		policies: controller.NetworkPolicyEventHandler,
	} {
		_, err := informer.AddEventHandler(handler)
		must(err)
	}
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(beats, stop, &running)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
