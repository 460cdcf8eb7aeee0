"""As much of Kubernetes as the specifications in deploy/kubernetes need: pods from templates, headless services, secrets."""
import re

import kubernetes_validate
import yaml

from cluster import Cluster, deploy, fail, image_command, new_secret

SEARCH = "default.svc.cluster.local svc.cluster.local cluster.local"
REDUCER_IMAGE = "registry.example.com/fanin-reducer:"


def read(name, workers, reducers):
    """The documents, with the numbers at the marks `# worker-count` and `# reducer-count` changed to a small cluster's."""
    lines = open(deploy("kubernetes", name)).read().split("\n")
    for i, line in enumerate(lines):
        mark = re.search(r"# (worker|reducer)-count( less one)?$", line)
        if not mark:
            continue
        old = {"worker": (8, 7), "reducer": (25, 24)}[mark[1]]
        new = workers if mark[1] == "worker" else reducers
        lines[i], found = re.subn(rf"(?<!\d)({old[0]}|{old[1]})(?!\d)", lambda m: str(new if int(m[1]) == old[0] else new - 1), line)
        if not found:
            fail(f"{name}: no number at a mark: {line}")
    return list(yaml.safe_load_all("\n".join(lines)))


def of_kind(documents, kind):
    return [d for d in documents if d["kind"] == kind]


def validate(document):
    try:
        kubernetes_validate.validate(document, "1.29", strict=True)
    except (kubernetes_validate.ValidationError, Exception) as e:
        fail(f"{document['kind']} {document.get('metadata', {}).get('name')}: {e}")


def validate_all(documents):
    """Core kinds by their schema; of custom resources the pods they hold, which is most of them."""
    for d in documents:
        if d["kind"] == "JobSet":
            for job in d["spec"]["replicatedJobs"]:
                validate({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["name"]}, "spec": job["template"]["spec"]})
        elif d["kind"] == "PyTorchJob":
            for role, replica in d["spec"]["pytorchReplicaSpecs"].items():
                validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": role.lower()}, "spec": replica["template"]["spec"]})
        elif d["kind"] != "PodMonitor":
            validate(d)


def selects(selector, labels):
    return all(labels.get(k) == v for k, v in selector.items())


def expand(text, environment):
    return re.sub(r"\$\((\w+)\)", lambda m: environment.get(m[1], m[0]), text)


class Kubernetes(Cluster):
    def __init__(self, workers, reducers, secrets):
        super().__init__(workers, reducers, SEARCH)
        self.secrets, self.services, self.labelled = secrets, [], []

    def secret(self, name, key):
        if key not in self.secrets.get(name, {}):
            fail(f"there is no key {key} in secret {name}")
        return self.secrets[name][key]

    def pod(self, host, template, labels, given):
        """given: what the controller adds to the container's environment."""
        spec = template["spec"]
        container, = spec["containers"]
        environment = dict(given)
        for e in container.get("env", []):
            ref = e.get("valueFrom", {}).get("secretKeyRef")
            environment[e["name"]] = self.secret(ref["name"], ref["key"]) if ref else expand(e["value"], environment)
        files = {}
        for mount in container.get("volumeMounts", []):
            volume, = [v for v in spec["volumes"] if v["name"] == mount["name"]]
            if "secret" in volume:
                name = volume["secret"]["secretName"]
                files |= {f"{mount['mountPath']}/{key}": text for key, text in self.secrets[name].items()}
        command = container.get("command") or (image_command("reducer.Containerfile") if
                                               container["image"].startswith(REDUCER_IMAGE) else fail("no command"))
        command = command + [expand(a, environment) for a in container.get("args", [])]
        pod = self.start(host, command, environment, files, spec.get("securityContext", {}).get("runAsUser"))
        self.labelled.append((pod, labels, container))
        return pod

    def serve(self, documents, namespace="default"):
        """Publishes the headless services' names with the pods that are ready, after waiting for all of them."""
        for service in of_kind(documents, "Service"):
            if service["spec"]["clusterIP"] != "None":
                fail("not headless")
            chosen = [(p, c) for p, labels, c in self.labelled if selects(service["spec"]["selector"], labels)]
            for pod, container in chosen:
                probe = container["readinessProbe"]["httpGet"]
                port, = [p["containerPort"] for p in container["ports"] if p["name"] == probe["port"]]
                self.wait_ready([pod], port, probe["path"])
                alive = container["livenessProbe"]["httpGet"]
                if not pod.get(port, alive["path"]):
                    fail(f"{alive['path']} of {pod.host}")
                if not {p["port"] for p in service["spec"]["ports"]} <= {p["containerPort"] for p in container["ports"]}:
                    fail(f"service {service['metadata']['name']} has ports that no container has")
            name = f"{service['metadata']['name']}.{namespace}.svc.cluster.local."
            self.publish(name, [p.host for p, _ in chosen])
        for policy in of_kind(documents, "NetworkPolicy"):
            if not any(selects(policy["spec"]["podSelector"]["matchLabels"], labels) for _, labels, _ in self.labelled):
                fail("a NetworkPolicy selects no pod")
        for monitor in of_kind(documents, "PodMonitor"):
            for pod, labels, container in self.labelled:
                if selects(monitor["spec"]["selector"]["matchLabels"], labels):
                    for end in monitor["spec"]["podMetricsEndpoints"]:
                        port, = [p["containerPort"] for p in container["ports"] if p["name"] == end["port"]]
                        if not pod.get(port, end["path"]):
                            fail(f"nothing to scrape at {end['path']} of {pod.host}")


def stateful_set(cluster, document, hosts, namespace="default"):
    spec = document["spec"]
    name, service = document["metadata"]["name"], spec["serviceName"]
    if not selects(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]):
        fail("the StatefulSet does not select its own pods")
    if spec["replicas"] != len(hosts):
        fail(f"{spec['replicas']} replicas for {len(hosts)} hosts")
    pods = []
    for i, host in enumerate(hosts):
        pods.append(cluster.pod(host, spec["template"], spec["template"]["metadata"]["labels"], {}))
        cluster.publish(f"{name}-{i}.{service}.{namespace}.svc.cluster.local.", [host])
    return pods


__all__ = ["Kubernetes", "new_secret", "of_kind", "read", "stateful_set", "validate_all"]
