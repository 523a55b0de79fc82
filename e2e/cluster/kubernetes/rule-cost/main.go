// Command rule-cost evaluates the rules of a CustomResourceDefinition on objects with the API server's own code, and prints what
// each object costs of the API server's budget: rule-cost DEFINITION < OBJECTS, one JSON object a line, with `object` and, for an
// update, `old`. A line of the answer has `cost`, `limit` and `errors`.
package main

import (
	"bufio"
	"context"
	encoding "encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// The longest line, in bytes: larger than any object that the API server takes.
const longestLine = 4 << 20

type request struct {
	Object map[string]any `json:"object"`
	Old    map[string]any `json:"old"`
}

type answer struct {
	Cost   int64    `json:"cost"`
	Limit  int64    `json:"limit"`
	Errors []string `json:"errors"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: rule-cost DEFINITION < OBJECTS")
	}
	structural, err := read(os.Args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := encoding.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return fmt.Errorf("a line of the input: %w", err)
		}
		// As the API server does it: what is null is not there.
		defaulting.PruneNonNullableNullsWithoutDefaults(asked.Object, structural)
		var old any
		if asked.Old != nil {
			defaulting.PruneNonNullableNullsWithoutDefaults(asked.Old, structural)
			old = asked.Old
		}
		const budget = celconfig.RuntimeCELCostBudget
		found, left := validator.Validate(context.Background(), field.NewPath(""), structural, asked.Object, old, budget)
		result := answer{Cost: budget - left, Limit: budget, Errors: []string{}}
		for _, it := range found {
			result.Errors = append(result.Errors, it.Error())
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

func read(path string) (*schema.Structural, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var definition v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &definition); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	given := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(given, &internal, nil); err != nil {
		return nil, err
	}
	return schema.NewStructural(&internal)
}
