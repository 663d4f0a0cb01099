{{- define "kron.labels" -}}
app.kubernetes.io/name: kron-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kron.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "kron.labels" . | nindent 2 }}
{{- end }}

{{- define "kron.secret" -}}
{{ .Values.store.secret | default (printf "%s-store" .Release.Name) }}
{{- end }}
