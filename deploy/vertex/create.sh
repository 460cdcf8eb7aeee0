#!/bin/sh
# create.sh REGION NAME [RATES]: starts job.json on Vertex AI, with as many reducers as fanin-topo says for its workers.
# RATES: bandwidth of a worker's and a reducer's machine, default "100G 32G" (an n1-highcpu-16 has 32 Gbit/s).
# Images, machines and the training's command are in job.json. Needs gcloud and fanin-topo.
set -eu
region=${1:?a region, as us-central1} name=${2:?the job\'s name} rates=${3:-100G 32G}
case $rates in *" "*) ;; *) echo "create.sh: '$rates' is not two rates, a worker's and a reducer's: \"100G 32G\"" >&2; exit 2 ;; esac
cd "$(dirname "$0")"
nodes=$(python3 -c 'import json; print(sum(p["replicaCount"] for p in json.load(open("job.json"))["workerPoolSpecs"][:2]))')
plan=$(fanin-topo plan --workers "$nodes" --worker-bw "${rates% *}" --reducer-bw "${rates#* }" --json)
reducers=$(echo "$plan" | python3 -c 'import json, sys; print(json.load(sys.stdin)["reducers_to_match"])')
job=$(mktemp)
trap 'rm -f "$job"' EXIT
python3 - "$reducers" >"$job" <<'P'
import json, sys
job = json.load(open("job.json"))
job["workerPoolSpecs"][2]["replicaCount"] = int(sys.argv[1])
json.dump(job, sys.stdout, indent=2)
P
echo "$nodes workers, $reducers reducers"
gcloud ai custom-jobs create --region="$region" --display-name="$name" --config="$job"
