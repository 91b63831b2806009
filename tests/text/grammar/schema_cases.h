// Schemas that several tests go through.
#pragma once

#include <array>
#include <string_view>

namespace kvern::test {

struct SchemaCase {
  std::string_view name;
  std::string_view schema;
};

inline constexpr std::array kSchemaCases{
    SchemaCase{"any_object", R"({"type":"object"})"},
    SchemaCase{"any_value", R"({})"},
    SchemaCase{"person", R"({"type":"object","properties":{
        "name":{"type":"string","minLength":1,"maxLength":20},"age":{"type":"integer","minimum":0,"maximum":150},
        "email":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"},"maxItems":3},
        "role":{"enum":["admin","user","guest \"q\"",7,null]},"score":{"type":"number","minimum":-1.5,"exclusiveMaximum":99.25}},
        "required":["name","age"],"additionalProperties":false})"},
    SchemaCase{"tree", R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
        "value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value","children"]}}})"},
    SchemaCase{"expression",
               R"({"anyOf":[{"type":"number"},{"type":"object","properties":{"op":{"enum":["+","-","*"]},
        "left":{"$ref":"#"},"right":{"$ref":"#"}},"required":["op","left","right"]}]})"},
    SchemaCase{"tuple",
               R"({"type":"array","prefixItems":[{"type":"string"},{"type":"boolean"},{"const":{"a":[1,2]}}],
        "items":{"type":"integer"},"minItems":2,"maxItems":6})"},
    SchemaCase{"closed_tuple",
               R"({"type":"array","prefixItems":[{"type":"null"},{"type":"integer"}],"items":false})"},
    SchemaCase{
        "map",
        R"({"type":"object","additionalProperties":{"type":"integer","exclusiveMinimum":3},"minProperties":1,"maxProperties":4})"},
    SchemaCase{
        "open",
        R"({"type":"object","properties":{"extra":{"type":"boolean"},"ex":{"type":"string"}},"required":["ex"],
        "additionalProperties":{"type":"integer"}})"},
    SchemaCase{
        "all_of",
        R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"]},
        {"properties":{"a":{"maximum":9},"b":{"type":"string"}},"required":["b"]}],"examples":[{"a":3,"b":"x"},{"a":9,"b":""}]})"},
    SchemaCase{
        "any_of_beside",
        R"({"type":"object","properties":{"kind":{"type":"string"},"n":{"type":"integer"}},"required":["kind"],
        "anyOf":[{"properties":{"kind":{"const":"a"}},"required":["n"]},{"properties":{"kind":{"const":"b"}}}],
        "examples":[{"kind":"a","n":1},{"kind":"b"},{"kind":"b","n":-4}]})"},
    SchemaCase{"pattern", R"({"type":"object","properties":{
        "id":{"type":"string","pattern":"^[A-Z]{2,4}-[0-9]+$","maxLength":10,"examples":["AB-1","WXYZ-00001"]},
        "free":{"type":"string","pattern":"b+c","examples":["abbc\u00e9","bc","\"bc\n"]},
        "words":{"type":"string","pattern":"^(?:\\w+\\s?){1,3}$","minLength":3,"examples":["one two","abc"]}},"required":["id","free"]})"},
    SchemaCase{"formats", R"({"type":"object","properties":{
        "d":{"type":"string","format":"date","examples":["2024-02-28"]},"t":{"type":"string","format":"time","examples":["23:59:00Z"]},
        "dt":{"type":"string","format":"date-time","examples":["1999-12-31T00:00:01.5+02:00"]},
        "u":{"type":"string","format":"uuid","examples":["123e4567-e89b-12d3-a456-426614174000"]},
        "i":{"type":"string","format":"ipv4","examples":["192.168.0.255"]},
        "e":{"type":"string","format":"email","examples":["a.b@example.com"]}},"required":["d","t","dt","u","i","e"]})"},
    SchemaCase{
        "nullable",
        R"({"type":"object","properties":{"a":{"type":"boolean","nullable":true},"b":{"type":["integer","string"],"maxLength":2}},
        "required":["a","b"],"title":"T","description":"d","$schema":"https://json-schema.org/draft/2020-12/schema"})"},
    SchemaCase{"nested",
               R"({"type":"object","properties":{"rows":{"type":"array","minItems":1,"items":{"type":"object",
        "properties":{"cells":{"type":"array","items":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}}},
        "required":["cells"],"additionalProperties":false}}},"required":["rows"],"additionalProperties":false})"},
    SchemaCase{"empty", R"({"type":"object","properties":{}})"},
    SchemaCase{"ranges", R"({"type":"array","items":{"anyOf":[{"type":"integer","minimum":-12,"maximum":1005},
        {"type":"integer","exclusiveMinimum":99999,"maximum":1000000},{"type":"number","minimum":0.001,"maximum":0.25},
        {"type":"number","exclusiveMaximum":-3}]},"maxItems":4})"},
};

}  // namespace kvern::test
