// Reads a JSON list of YAML texts, and writes what kubectl's reader makes of each: {"json": ...} or {"error": "..."}.
package main

import (
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		panic(err)
	}
	results := []map[string]any{}
	for _, text := range texts {
		result := map[string]any{}
		if read, err := yaml.YAMLToJSON([]byte(text)); err != nil {
			result["error"] = err.Error()
		} else {
			result["json"] = json.RawMessage(read)
		}
		results = append(results, result)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}
